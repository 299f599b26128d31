"""Compiled routines that two or more families of solvers share."""
