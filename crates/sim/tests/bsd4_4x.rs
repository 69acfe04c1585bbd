//! bsd4_4x: what its entry promises. What it does as the others of its family do is in `bsd4`.

use schedlab_policies::schedulers::Bsd44x;

schedlab_testing::test_scheduler!(Bsd44x);
