//! What a model file says of its own content.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::privacy::files::hex;

/// Name of the member that holds the digest.
pub(super) const DIGEST: &str = "digest";

/// The members of a file by name, each as it is written.
pub(super) type Members<'t> = BTreeMap<String, &'t RawValue>;

/// The members of a JSON object.
///
/// # Errors
/// Text that is no JSON object.
pub(super) fn members<'t>(text: &'t str, place: &str) -> Result<Members<'t>> {
    let form = "a model as in docs/guide/model-file.md";
    serde_json::from_str(text).map_err(|error| Error::wrong_json(place, &error, true, form))
}

/// SHA-256 of the object of all members but the digest itself: in the order of their names and without blanks outside
/// texts, otherwise as they are written. So a file may be indented, and its members may change places, but no number, name
/// or order of codes may change.
pub(super) fn digest(members: &Members<'_>) -> String {
    let mut hash = Sha256::new();
    let content = members.iter().filter(|(name, _)| *name != DIGEST).enumerate();
    for (number, (name, value)) in content {
        hash.update(if number == 0 { "{" } else { "," });
        hash.update(serde_json::Value::from(name.as_str()).to_string());
        hash.update(":");
        update_without_blanks(&mut hash, value.get());
    }
    hash.update("}");
    format!("sha256:{}", hex(&hash.finalize()))
}

/// Adds JSON without the blanks between its tokens.
fn update_without_blanks(hash: &mut Sha256, json: &str) {
    let (mut is_text, mut is_escaped, mut start) = (false, false, 0);
    for (at, byte) in json.bytes().enumerate() {
        if is_text {
            is_text = is_escaped || byte != b'"';
            is_escaped = !is_escaped && byte == b'\\';
        } else if byte == b'"' {
            is_text = true;
        } else if byte.is_ascii_whitespace() {
            hash.update(&json[start..at]);
            start = at + 1;
        }
    }
    hash.update(&json[start..]);
}

/// The text of a JSON object with the digest of its content, in place of the one that it may have.
///
/// # Errors
/// Text that is no JSON object.
pub(super) fn with_digest(text: &str, place: &str) -> Result<String> {
    let members = members(text, place)?;
    let digest = format!("\"{}\"", digest(&members));
    if let Some(old) = members.get(DIGEST) {
        // It lies in the text that it was read from.
        let start = (old.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        let (before, after) = (text.get(..start), text.get(start + old.get().len()..));
        return Ok([before.unwrap_or(text), &digest, after.unwrap_or_default()].concat());
    }
    let open = text.trim_end().strip_suffix('}').unwrap_or(text).trim_end();
    let comma = if members.is_empty() { "" } else { "," };
    Ok(format!("{open}{comma}\"{DIGEST}\":{digest}}}"))
}

#[cfg(test)]
mod tests;
