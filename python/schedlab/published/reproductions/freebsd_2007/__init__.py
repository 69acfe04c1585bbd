"""Evans and Roberson, cvs-all, October 2007: 4BSD and ULE under hogs and builds."""
