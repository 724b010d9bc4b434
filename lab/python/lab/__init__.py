"""The Python side of the laboratory of wire formats: `python -m lab --help`."""
