//! What a link writes into the headers of packets.

use crate::declare::{dscp, held, table, word};
use sojourn_core::choices;
use sojourn_queue::{Dscp, Ecn};

choices! {
    /// What a link does to the ECN field.
    pub enum EcnRemark {
        /// It is cleared: marks are lost, and queues behind the link drop instead of marking.
        Bleached = "bleached",
        /// ECT(1) becomes ECT(0), so that queues behind the link do not see a scalable sender (RFC 9331).
        ToEct0 = "ect0",
        /// CE becomes ECT(0), so that marks made before the link are lost.
        Unmarked = "unmarked",
    }
}

held! { EcnRemark: |this| this.value() }

impl EcnRemark {
    fn of(self, ecn: Ecn) -> Ecn {
        match (self, ecn) {
            (EcnRemark::Bleached, _) => Ecn::NotEct,
            (EcnRemark::ToEct0, Ecn::Ect1) | (EcnRemark::Unmarked, Ecn::Ce) => Ecn::Ect0,
            (EcnRemark::ToEct0 | EcnRemark::Unmarked, same) => same,
        }
    }
}

table! {
    /// What a router on the way writes into the headers of all packets, acknowledgements as well.
    pub struct Remark = REMARK, "remark" => {
        /// the differentiated services code point of all packets from here on
        dscp: Option<Dscp> = dscp().unless("each packet keeps its own", "default"),
        /// what becomes of the ECN field (RFC 3168): bleached clears it, with ect0 ECT(1) becomes ECT(0), and with
        /// unmarked CE becomes ECT(0), so that marks made before are lost
        ecn: Option<EcnRemark> = word().unless("each packet keeps its own", "bleached"),
    }
}

impl Copy for Remark {}

impl Remark {
    /// The code points that a packet with these has afterwards.
    #[inline]
    pub fn of(self, dscp: Dscp, ecn: Ecn) -> (Dscp, Ecn) {
        (self.dscp.unwrap_or(dscp), self.ecn.map_or(ecn, |remark| remark.of(ecn)))
    }
}
