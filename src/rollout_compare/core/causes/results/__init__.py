"""Test results of one row, out of the files and fields that hold such."""
