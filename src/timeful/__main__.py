"""`python -m timeful` is the `timeful` command."""

from timeful.cli.main import main

if __name__ == "__main__":
    main()
