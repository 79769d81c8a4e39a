//! The least round-trip time, and draining the path to measure it.

use super::{Bbr3, Seen, State};
use sojourn_core::{Span, Time};

impl Bbr3 {
    /// `UpdateMinRTT()`; whether the time to drain the path has come.
    #[inline]
    pub(super) fn update_least_rtt(&mut self, seen: &Seen<'_>, rtt: Option<Span>) -> bool {
        let expired = self.recent_rtt.expired(seen.now);
        if let Some(rtt) = rtt
            && self.recent_rtt.get().is_none_or(|least| rtt < least || expired)
        {
            self.recent_rtt.set(rtt, seen.now);
        }
        if let Some(recent) = self.recent_rtt.get()
            && self.least_rtt.get().is_none_or(|least| recent < least || self.least_rtt.expired(seen.now))
        {
            self.least_rtt.set(recent, self.recent_rtt.stamp());
        }
        expired
    }

    /// `CheckProbeRTT()`.
    #[inline]
    pub(super) fn check_probe_rtt(&mut self, seen: &Seen<'_>, expired: bool) {
        if self.state != State::ProbeRtt && expired && !self.idle_restart {
            self.save_window();
            self.state = State::ProbeRtt;
            self.probe_rtt_ends = None;
            self.probing.stop();
            self.rounds.restart(self.delivered);
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(seen);
        }
        self.idle_restart = false;
    }

    /// `HandleProbeRTT()`.
    fn handle_probe_rtt(&mut self, seen: &Seen<'_>) {
        self.muted.extend(self.delivered, seen.sample.in_flight);
        match self.probe_rtt_ends {
            None if seen.in_flight <= self.probe_rtt_window() => {
                self.probe_rtt_ends = Some(seen.now + self.settings.probe_rtt_duration);
                self.probe_rtt_round_done = false;
                self.rounds.restart(self.delivered);
            }
            None => {}
            Some(_) => {
                self.probe_rtt_round_done |= self.rounds.starts();
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(seen.now);
                }
            }
        }
    }

    /// `CheckProbeRTTDone()`.
    pub(super) fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt_ends.is_some_and(|ends| now > ends) {
            self.recent_rtt.renew(now);
            self.restore_window();
            self.exit_probe_rtt(now);
        }
    }

    /// `ExitProbeRTT()`: the probing clock begins anew, and nothing is left to drain.
    fn exit_probe_rtt(&mut self, now: Time) {
        self.bounds.forget_short_term();
        if self.full.ever {
            self.start_down(now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}
