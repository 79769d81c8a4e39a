//! What rules say of what they find, and where.

use crate::check::join;
use crate::diagnostic::{Fault, Reporter};
use crate::fields::{Chosen, Fields, Item};
use crate::node::Origin;
use crate::write;
use sojourn_core::registry::{Advice, ParameterError};

/// The dotted key of the table `fields` in the list `list`.
pub(super) fn element_path(list: &str, index: usize, fields: &Fields) -> String {
    match fields.text("name") {
        Some(name) => format!("{list}.{name}"),
        None => format!("{list}.{index}"),
    }
}

/// Whether the value of one of these keys has been refused.
pub(super) fn is_faulty(keys: &[&str], path: &str, reporter: &Reporter<'_>) -> bool {
    let paths: Vec<_> = keys.iter().map(|key| join(path, key)).collect();
    reporter.problems.list().iter().any(|problem| paths.contains(&problem.key))
}

/// Warns of values that are legal and yet unwise; `origin` is where the algorithm was chosen.
pub(super) fn unwise(reporter: &mut Reporter<'_>, chosen: &Chosen, origin: Origin, path: &str, advice: &[Advice]) {
    for Advice { parameter, text } in advice {
        let origin = chosen.origin(parameter).unwrap_or(origin);
        let value = chosen.params.get(parameter);
        reporter.warning(origin, &join(path, parameter), value.to_string(), text.clone());
    }
}

/// Reports that the parameters of an algorithm do not fit together; `origin` is where it was chosen.
pub(super) fn parameter_error(
    reporter: &mut Reporter<'_>,
    chosen: &Chosen,
    origin: Origin,
    path: &str,
    error: &ParameterError,
) {
    let key = error.parameter;
    if error.class.is_some() && chosen.classes.is_empty() {
        // The classes are the discipline's own.
        let rule = format!("classes in which each {key} has {}", error.rule);
        return reporter.error(origin, &join(path, "class"), Fault::new("none".to_owned()), rule);
    }
    if let Some(index) = error.class {
        let class = &chosen.classes[index];
        let path = join(&element_path(&join(path, "class"), index, &class.fields), key);
        let (origin, found) = match class.own.origin(key) {
            Some(origin) => (origin, class.own.params.get(key).to_string()),
            None => (class.fields.origin_of(key), shown(&class.fields, key)),
        };
        return reporter.error(origin, &path, Fault::new(found), error.rule.clone());
    }
    let found = match key {
        "class" => match &chosen.classes[..] {
            [] => "none".to_owned(),
            classes => classes.iter().filter_map(|class| class.fields.text("name")).collect::<Vec<_>>().join(", "),
        },
        "child" => chosen.child.as_ref().map_or("nothing", |child| child.params.descriptor().name).to_owned(),
        "kind" => chosen.params.descriptor().name.to_owned(),
        parameter => chosen.params.get(parameter).to_string(),
    };
    reporter.error(chosen.origin(key).unwrap_or(origin), &join(path, key), Fault::new(found), error.rule.clone());
}

/// The value of a key as a file has it; of an algorithm its name and limit.
fn shown(fields: &Fields, key: &str) -> String {
    if let Some(Item::Chosen(chosen)) = fields.item(key) {
        let descriptor = chosen.params.descriptor();
        let limit = descriptor.parameter("limit").map(|_| format!(" with a limit of {}", chosen.params.get("limit")));
        return format!("{}{}", descriptor.name, limit.unwrap_or_default());
    }
    written(fields, key)
}

/// The value of a key in full, as a file has it.
pub(super) fn written(fields: &Fields, key: &str) -> String {
    match (fields.section.key(key), fields.item(key)) {
        (Some(key), Some(item)) => write::toml_value(&write::item(item, &key.form)),
        _ => "nothing".to_owned(),
    }
}
