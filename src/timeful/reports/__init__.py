"""Reports: cells, tables, figures and pages, of any suite."""
