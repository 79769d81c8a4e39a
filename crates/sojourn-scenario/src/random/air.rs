//! What a medium that stations share asks of a random scenario.

use super::*;

impl Writer<'_> {
    /// Stations and the air that they share are there together, or neither is.
    pub(super) fn respect_air(&mut self, section: &'static Section, entries: &mut Entries) {
        let Some(shared) = self.shared else {
            let back = Written::Text("reverse".to_owned());
            let main = if entries.contains(&("direction", back)) { "reverse" } else { "bottleneck" };
            entries.retain(|(name, _)| *name != "station");
            for (_, written) in entries.iter_mut().filter(|(name, _)| *name == "enters") {
                *written = Written::Text(main.to_owned());
            }
            return;
        };
        let put = |entries: &mut Entries, name: &'static str, written: Written| {
            entries.retain(|(known, _)| *known != name);
            entries.push((name, written));
        };
        match section.name {
            "" => {
                entries.retain(|(name, _)| !["access", "reverse", "hop"].contains(name));
                if entries.iter().all(|(name, _)| *name != "station") {
                    let one = self.section(&crate::format::STATION);
                    entries.push(("station", Written::List(vec![Written::Section(one)])));
                }
                let stations = entries.iter_mut().filter(|(name, _)| *name == "station");
                stations.for_each(|(_, written)| {
                    if let Written::List(list) = written {
                        list.truncate(1);
                    }
                });
            }
            "bottleneck" => {
                let medium = match shared {
                    Shared::Wifi(air) => vec![
                        ("kind", Written::Text("wifi".to_owned())),
                        ("standard", Written::Text(air.standard.word().to_owned())),
                        ("width", Written::Text(format!("{} MHz", air.width_mhz))),
                        ("edca", Written::Boolean(self.random.chance(0.5))),
                    ],
                    Shared::Cell(medium) => {
                        let mut own = vec![("kind", Written::Text(medium.name.to_owned()))];
                        self.parameters(medium, &mut own);
                        // More resource blocks than a channel has are refused.
                        own.retain(|(name, _)| !["bandwidth", "spacing", "blocks"].contains(name));
                        own
                    }
                };
                put(entries, "medium", Written::Section(medium));
                entries.retain(|(name, _)| {
                    !["rate", "trace", "framing", "noise", "protection", "policer", "shaper"].contains(name)
                });
            }
            "station" => {
                let channel = ["cqi", "snr_db", "speed_kmh", "shadowing_db"];
                let is_wifi = matches!(shared, Shared::Wifi(_));
                let others: &[_] = if is_wifi { &channel } else { &["loss", "weight"] };
                entries.retain(|(name, _)| !["name", "rate", "streams"].contains(name) && !others.contains(name));
                entries.push(("name", Written::Text(STATION.to_owned())));
                match shared {
                    Shared::Wifi(air) if air.standard != Standard::B && self.random.chance(0.5) => {
                        entries.push(("snr_db", Written::Number(17.5)));
                        entries.push(("speed_kmh", Written::Number(3.0)));
                    }
                    Shared::Wifi(air) => {
                        let rates = air.rates();
                        let fits = |rate: &&String| air.mode(rate, 1).is_some();
                        let rates: Vec<_> = rates.iter().filter(fits).collect();
                        let rate = rates[self.below(rates.len())].clone();
                        entries.push(("rate", Written::Text(rate)));
                    }
                    Shared::Cell(_) if self.random.chance(0.5) => {
                        entries.retain(|(name, _)| !channel.contains(name));
                        entries.push(("cqi", Written::Integer(1 + self.below(15) as u64)));
                    }
                    Shared::Cell(_) => {
                        entries.retain(|(name, _)| !channel.contains(name));
                        entries.push(("snr_db", Written::Number(17.5)));
                        entries.push(("speed_kmh", Written::Number(30.0)));
                        entries.push(("shadowing_db", Written::Number(4.0)));
                    }
                }
            }
            "group" => {
                entries.retain(|(name, _)| *name != "enters");
                put(entries, "station", Written::Text(STATION.to_owned()));
            }
            _ => {}
        }
    }
}
