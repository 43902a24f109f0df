"""`python -m contract_lint`."""

from .plugins.cli.main import main

if __name__ == "__main__":
    main()
