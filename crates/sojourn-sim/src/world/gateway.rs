//! What the controller of a gateway's shapers does to the world.

use super::World;
use sojourn_core::Time;

impl World {
    /// When the controller is asked next.
    pub fn gateway_at(&self) -> Time {
        self.gateway.as_ref().map_or(Time::NEVER, |gateway| gateway.next())
    }

    /// Asks the controller, at the present, and sets the rates.
    pub fn step_gateway(&mut self) {
        let Some(gateway) = &mut self.gateway else { return };
        let sent_bytes = gateway.places().map(|place| self.links[place].meter.totals.sent_bytes);
        for step in gateway.step(sent_bytes, self.now) {
            self.links[step.place].change_service(step.service);
            if let Some(queue) = step.queue {
                self.links[step.place].change_queue(queue, &mut self.flows, self.now);
            }
            self.after_change(step.place);
        }
    }
}
