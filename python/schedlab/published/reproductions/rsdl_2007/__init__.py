"""Mattie, linux-kernel, April 2007: RSDL against CFS on a desktop that plays music and compiles."""
