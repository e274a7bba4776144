//! A person: age, sex, race, origin, language, school, marriage, health, service.

use super::{Chance, logistic};

/// Everything that does not depend on work or housing. `None` if the question is not asked.
#[expect(clippy::struct_excessive_bools, reason = "answers to yes-or-no questions")]
pub(super) struct Person {
    /// Years.
    pub(super) age: f64,
    pub(super) female: bool,
    pub(super) race: usize,
    pub(super) origin: usize,
    pub(super) foreign: bool,
    pub(super) other_language: Option<bool>,
    pub(super) english: Option<usize>,
    pub(super) enrolled: Option<usize>,
    pub(super) education: Option<usize>,
    pub(super) marital: usize,
    pub(super) hearing: bool,
    pub(super) vision: bool,
    pub(super) walking: Option<bool>,
    pub(super) cognitive: Option<bool>,
    pub(super) military: Option<usize>,
}

/// People by five years of age, in percent.
const AGES: [f64; 20] = [
    5.5, 5.9, 6.3, 6.6, 6.5, 6.4, 6.6, 6.5, 6.2, 5.7, 6.0, 6.3, 6.6, 6.0, 4.9, 3.4, 2.2, 1.3, 0.6,
    0.2,
];

const ASIAN: usize = 3;
const PACIFIC: usize = 4;
/// Codes of `MAR`.
pub(super) const MARRIED: usize = 0;
const NEVER_MARRIED: usize = 4;
/// Code of `SCHL` for a bachelor's degree; the higher ones follow.
pub(super) const BACHELOR: usize = 7;

impl Person {
    pub(super) fn draw(chance: &mut Chance) -> Self {
        let band = chance.of(&AGES);
        let age = 5.0 * band as f64 + (5.0 * chance.uniform()).floor();
        let female = chance.is(0.49 + 0.003 * (age - 50.0).max(0.0));
        let race = race(age, chance);
        let origin = origin(race, chance);
        let foreign = foreign(age, race, origin, chance);
        let other_language = (age >= 5.0).then(|| {
            let likely = if foreign { 0.82 } else { [0.04, 0.4, 0.55, 0.45][origin] };
            chance.is(likely)
        });
        let education = education(age, race, foreign, chance);
        let english = (other_language == Some(true)).then(|| {
            let years = education.unwrap_or(0) as f64;
            let well = if foreign { 0.35 * years - 1.2 } else { 3.0 };
            let very = logistic(well);
            chance.of(&[very, 0.6 * (1.0 - very), 0.3 * (1.0 - very), 0.1 * (1.0 - very)])
        });
        let frail = ((age - 40.0) / 14.0).exp() * if education < Some(4) { 1.4 } else { 1.0 };
        let mut has = |base: f64, slope: f64| chance.is((base + slope * frail).min(0.75));
        let (hearing, vision) = (has(0.006, 0.012), has(0.010, 0.006));
        let asked = age >= 5.0;
        let walking = asked.then(|| has(0.006, 0.021));
        let cognitive = asked.then(|| has(0.035, 0.008));
        Self {
            age,
            female,
            race,
            origin,
            foreign,
            other_language,
            english,
            enrolled: enrolled(age, education, chance),
            education,
            marital: marital(age, female, chance),
            hearing,
            vision,
            walking,
            cognitive,
            military: military(age, female, foreign, chance),
        }
    }

    /// Whether the person has a difficulty that can prevent work.
    pub(super) fn is_disabled(&self) -> bool {
        self.walking == Some(true) || self.cognitive == Some(true)
    }

    /// Whether the person goes to school.
    pub(super) fn is_student(&self) -> bool {
        self.enrolled.is_some_and(|school| school > 0)
    }
}

fn race(age: f64, chance: &mut Chance) -> usize {
    let here = [0.77, 0.11, 0.003, 0.035, 0.001, 0.025, 0.056];
    let there = [0.40, 0.04, 0.012, 0.27, 0.06, 0.05, 0.168];
    let mut weights = chance.mix(here, there);
    if age < 25.0 {
        weights[0] *= 0.75;
        weights[6] *= 1.6;
    }
    chance.of(&weights)
}

fn origin(race: usize, chance: &mut Chance) -> usize {
    let hispanic = [0.04, 0.05, 0.15, 0.01, 0.08, 0.85, 0.35][race];
    if !chance.is(hispanic) {
        return 0;
    }
    1 + chance.of(&chance.mix([0.25, 0.45, 0.30], [0.55, 0.20, 0.25]))
}

fn foreign(age: f64, race: usize, origin: usize, chance: &mut Chance) -> bool {
    let likely = match (race, origin) {
        (_, 2) => 0.02,
        (_, 1 | 3) => 0.42,
        (ASIAN, _) => chance.between(0.68, 0.50),
        (PACIFIC, _) => 0.2,
        (1, _) => 0.10,
        _ => 0.04,
    };
    chance.is(if age < 18.0 { 0.2 * likely } else { likely })
}

fn education(age: f64, race: usize, foreign: bool, chance: &mut Chance) -> Option<usize> {
    let highest = match age {
        ..3.0 => return None,
        ..5.0 => return Some(chance.of(&[0.5, 0.5])),
        ..7.0 => return Some(chance.of(&[0.02, 0.58, 0.4])),
        ..14.0 => return Some(2),
        ..18.0 => return Some(2 + chance.of(&[0.25, 0.72, 0.03])),
        ..22.0 => 5,
        ..25.0 => BACHELOR,
        _ => 9,
    };
    let mut weights = [0.012, 0.001, 0.022, 0.055, 0.32, 0.19, 0.095, 0.19, 0.085, 0.03];
    let older = ((age - 60.0) / 20.0).max(0.0);
    let tilt = if race == ASIAN { 0.20 } else { 0.0 } - 0.12 * older + 0.22 * chance.drift;
    for (level, weight) in weights.iter_mut().enumerate() {
        *weight *= (tilt * level as f64).exp();
        if foreign && level < 4 {
            *weight *= 3.0;
        }
        if level > highest {
            *weight = 0.0;
        }
    }
    Some(chance.of(&weights))
}

fn enrolled(age: f64, education: Option<usize>, chance: &mut Chance) -> Option<usize> {
    let likely = match age {
        ..3.0 => return None,
        ..5.0 => 0.48,
        ..18.0 => 0.97,
        ..22.0 => 0.55,
        ..25.0 => 0.30,
        ..35.0 => 0.10,
        _ => 0.025,
    };
    let college = age >= 18.0 && education >= Some(5);
    let likely = if age >= 18.0 && !college { 0.4 * likely } else { likely };
    if !chance.is(likely) {
        return Some(0);
    }
    Some(if chance.is(if college { 0.25 } else { 0.12 }) { 2 } else { 1 })
}

fn marital(age: f64, female: bool, chance: &mut Chance) -> usize {
    if age < 15.0 {
        return NEVER_MARRIED;
    }
    let never = 0.07 + 0.93 * logistic((29.0 - age) / 4.5);
    let widowed = (if female { 0.55 } else { 0.25 }) * logistic((age - 82.0) / 7.0);
    let ended = 0.22 * logistic((age - 40.0) / 8.0);
    let married = 0.95 - 0.9 * widowed;
    let ever = [married * (1.0 - ended), widowed, ended, 0.12 * ended];
    if chance.is(never) { NEVER_MARRIED } else { chance.of(&ever) }
}

fn military(age: f64, female: bool, foreign: bool, chance: &mut Chance) -> Option<usize> {
    if age < 17.0 {
        return None;
    }
    let share = if female { 0.08 } else { 1.0 } * if foreign { 0.3 } else { 1.0 };
    let veteran = share * (0.06 + 0.35 * logistic((age - 70.0) / 6.0));
    let active = if age < 45.0 { share * chance.between(0.006, 0.05) } else { 0.0 };
    let former = if age < 19.0 { 0.0 } else { veteran };
    Some(chance.of(&[active, former, 0.015 * share, 1.0 - active - former]))
}
