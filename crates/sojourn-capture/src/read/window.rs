//! A file as a window that moves over it.

use std::io::Read;

/// What is read at once.
const STEP_BYTES: usize = 1 << 18;
/// The longest block, as Wireshark has it.
const MAX_BLOCK_BYTES: usize = 16 << 20;

/// The bytes of a file that were read and have not been taken.
pub(super) struct Window<R> {
    file: R,
    bytes: Vec<u8>,
    begin: usize,
}

impl<R: Read> Window<R> {
    pub fn of(file: R) -> Result<Self, String> {
        let mut window = Window { file, bytes: Vec::new(), begin: 0 };
        window.more().map(|_| window)
    }

    pub fn left(&self) -> &[u8] {
        &self.bytes[self.begin..]
    }

    pub fn take(&mut self, bytes: usize) {
        self.begin += bytes;
    }

    /// Shows `read` the blocks of the file, which returns how long one is, or `None` where it goes on behind the window.
    pub fn each(
        &mut self,
        what: &str,
        mut read: impl FnMut(&[u8]) -> Result<Option<usize>, String>,
    ) -> Result<(), String> {
        loop {
            let left = self.left().len();
            let found = if left > 0 { read(self.left())? } else { None };
            match found {
                Some(bytes) => self.take(bytes),
                None if left > MAX_BLOCK_BYTES => {
                    return Err(format!("a {what} has more than {MAX_BLOCK_BYTES} bytes"));
                }
                None if self.more()? => {}
                None if left > 0 => return Err(format!("the file ends in the middle of a {what}")),
                None => return Ok(()),
            }
        }
    }

    /// Reads on, at least as much again as is left; false where the file ends. What was read in front of a fault counts.
    fn more(&mut self) -> Result<bool, String> {
        self.bytes.drain(..self.begin);
        self.begin = 0;
        let before = self.bytes.len();
        match self.file.by_ref().take(STEP_BYTES.max(before) as u64).read_to_end(&mut self.bytes) {
            Err(error) if self.bytes.len() == before => Err(format!("the file cannot be read on ({error})")),
            _ => Ok(self.bytes.len() > before),
        }
    }
}
