//! Flows whose host holds them back (TCP small queues).

use super::World;
use crate::flow::Endpoints;

impl World {
    /// Whether a flow has to wait until something of it has left its host.
    pub(super) fn is_held_back(&mut self, index: usize) -> bool {
        let flow = &mut self.flows[index];
        let (Some(host), Endpoints::Transport(sender, _)) = (&mut flow.host, &mut flow.endpoints) else { return false };
        let held = host.holds_back(sender);
        if held {
            sender.on_held_back(self.now);
        }
        held
    }

    /// A packet of a flow waits for its access link; whether the next one has to wait before that.
    pub(super) fn on_queued_in_host(&mut self, index: usize) -> bool {
        let Some(host) = &mut self.flows[index].host else { return false };
        host.on_queued();
        self.is_held_back(index)
    }

    /// A packet of a flow has left on its access link.
    pub(super) fn on_left_host(&mut self, index: usize) {
        if self.flows[index].host.as_mut().is_some_and(|host| host.on_left()) {
            self.transmit(index);
        }
    }
}
