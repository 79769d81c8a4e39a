// Files that somebody brings: a scenario, a record, or a recorded link in mahimahi's format.

/** What a text is: times in ms line by line, a record with its scenario, or else a scenario. */
export function kindOf(text) {
  if (/^\s*\d+\s*\n/.test(text)) return "trace";
  return text.trimStart().startsWith("{") ? "record" : "scenario";
}

/** The scenario of a record as TOML; throws where there is none. */
export function scenarioOf(record) {
  const { scenario } = JSON.parse(record);
  if (typeof scenario !== "object" || scenario === null) throw new Error("it holds no scenario");
  return Object.entries(scenario).map(([key, value]) => `${JSON.stringify(key)} = ${toml(value)}\n`).join("");
}

/** A value as TOML on one line. */
export function toml(value) {
  if (Array.isArray(value)) return `[${value.map(toml).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  return `{ ${Object.entries(value).map(([key, one]) => `${JSON.stringify(key)} = ${toml(one)}`).join(", ")} }`;
}

/** The way of a group through a network, as keys of another one that takes the same; nothing in a chain. */
export function wayOf(group) {
  return ["from", "to", "path", "back"].filter((key) => key in group).map((key) => `${key} = ${toml(group[key])}\n`).join("");
}
