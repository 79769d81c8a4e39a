//! What access links are made of: the medium, impulse noise, protection from it, and named profiles of all this.

mod expand;
mod lines;
mod medium;
mod noise;
mod profiles;
mod protection;

pub(crate) use expand::{expand, make_room, of_home};
pub use lines::Line;
pub use medium::Medium;
pub(crate) use medium::{DEDICATED, DOCSIS, GPON};
pub use noise::{Bursts, Noise};
pub(crate) use noise::{PEIN, REIN, SHINE};
pub(crate) use profiles::WORDS;
pub use profiles::{PROFILES, Profile, Settings};
pub use protection::Protection;
pub(crate) use protection::{INTERLEAVING, RETRANSMISSION};
