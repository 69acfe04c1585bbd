//! bsd4_52: what its entry promises. What it does as the others of its family do is in `bsd4`.

use schedlab_policies::schedulers::Bsd452;

schedlab_testing::test_scheduler!(Bsd452);
