"""Any program as an agent: its model calls and its tools come to endpoints of ours."""
