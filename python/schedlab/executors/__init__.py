"""Where simulated runs are computed, besides on this computer: clusters of Ray and of Dask."""
