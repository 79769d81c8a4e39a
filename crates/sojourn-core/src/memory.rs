//! What is done where memory is not enough.

use alloc::collections::TryReserveError;
use alloc::vec::Vec;

/// What a run that needs more memory than there is ends with: the payload of its unwinding, which says nothing by itself.
#[derive(Clone, Copy, Debug)]
pub struct OutOfMemory;

/// Makes room in `places` for so many more, or ends the run. What grows with a scenario's buffers and flows grows by this: the
/// usual way ends the process.
pub fn make_room<T>(places: &mut Vec<T>, more: usize) {
    if let Err(error) = places.try_reserve_exact(more) {
        end(&error);
    }
}

#[cold]
#[cfg(feature = "std")]
fn end(_: &TryReserveError) -> ! {
    std::panic::resume_unwind(alloc::boxed::Box::new(OutOfMemory))
}

#[cold]
#[cfg(not(feature = "std"))]
fn end(error: &TryReserveError) -> ! {
    panic!("out of memory: {error}")
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_ends_the_run_only() {
        let ended = std::panic::catch_unwind(|| make_room(&mut alloc::vec![0u64], usize::MAX / 16));
        assert!(ended.expect_err("it is too much").is::<OutOfMemory>());
    }
}
