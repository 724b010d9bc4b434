"""The formats, one file each: a file's ROWS are the ways in which its libraries are used."""
