//! A person's work and income.

use super::people::{BACHELOR, Person};
use super::{Chance, logistic};

/// Work and income. `None` if the question is not asked.
pub(super) struct Work {
    pub(super) status: Option<usize>,
    pub(super) class: Option<usize>,
    pub(super) occupation: Option<usize>,
    pub(super) industry: Option<usize>,
    /// A week.
    pub(super) hours: Option<f64>,
    pub(super) transport: Option<usize>,
    /// Dollars per year.
    pub(super) income: Option<f64>,
}

/// Codes of `ESR`.
const EMPLOYED: usize = 0;
const UNEMPLOYED: usize = 1;
const ARMED_FORCES: usize = 2;
const NOT_IN_LABOR_FORCE: usize = 3;
/// Codes of `COW`.
const GOVERNMENT: usize = 2;
const SELF_EMPLOYED: usize = 3;
const UNPAID: usize = 4;

impl Work {
    pub(super) fn draw(person: &Person, chance: &mut Chance) -> Self {
        let status = status(person, chance);
        let in_labor_force = status.is_some_and(|status| status != NOT_IN_LABOR_FORCE);
        let occupation =
            (in_labor_force && status != Some(ARMED_FORCES)).then(|| occupation(person, chance));
        let class = match status {
            Some(ARMED_FORCES) => Some(GOVERNMENT),
            _ => occupation.map(|occupation| class(person, occupation, chance)),
        };
        let industry = match (class, occupation) {
            (Some(class), Some(occupation)) => Some(industry(class, occupation, person, chance)),
            (Some(_), None) => Some(11),
            _ => None,
        };
        let works = matches!(status, Some(EMPLOYED | ARMED_FORCES));
        let hours = works.then(|| hours(person, occupation, class, chance));
        let transport = works.then(|| transport(occupation, chance));
        let income = (person.age >= 15.0).then(|| income(person, occupation, class, hours, chance));
        Self { status, class, occupation, industry, hours, transport, income }
    }

    /// Whether the person has a job.
    pub(super) fn works(&self) -> bool {
        self.hours.is_some()
    }
}

fn status(person: &Person, chance: &mut Chance) -> Option<usize> {
    if person.age < 16.0 {
        return None;
    }
    if person.military == Some(0) {
        return Some(ARMED_FORCES);
    }
    let mut ease = if person.age < 25.0 { 0.9 } else { 1.9 };
    ease -= ((person.age - 58.0) / 4.5).max(0.0) * 0.9;
    ease += 0.13 * (person.education.unwrap_or(0) as f64 - 5.0);
    ease -= f64::from(u8::from(person.is_disabled())) * 1.7;
    ease -= f64::from(u8::from(person.is_student())) * 0.9;
    ease -= f64::from(u8::from(person.female && (25.0..45.0).contains(&person.age))) * 0.5;
    if !chance.is(logistic(ease)) {
        return Some(NOT_IN_LABOR_FORCE);
    }
    let out_of_work = if person.age < 25.0 { 0.10 } else { 0.035 };
    Some(if chance.is(out_of_work) { UNEMPLOYED } else { EMPLOYED })
}

fn occupation(person: &Person, chance: &mut Chance) -> usize {
    let education = person.education.unwrap_or(0);
    let mut weights = match education {
        0..=3 => [0.05, 0.35, 0.17, 0.18, 0.25],
        4 => [0.14, 0.21, 0.24, 0.16, 0.25],
        5 | 6 => [0.30, 0.18, 0.27, 0.10, 0.15],
        BACHELOR => [0.64, 0.08, 0.20, 0.03, 0.05],
        _ => [0.86, 0.03, 0.09, 0.01, 0.01],
    };
    if person.female {
        weights[1] *= 1.5;
        weights[2] *= 1.5;
        weights[3] *= 0.05;
        weights[4] *= 0.35;
    }
    if person.age < 22.0 {
        weights[0] *= 0.3;
        weights[1] *= 1.6;
    }
    chance.of(&weights)
}

fn class(person: &Person, occupation: usize, chance: &mut Chance) -> usize {
    let own = 0.05 + 0.0016 * person.age + if occupation == 3 { 0.08 } else { 0.0 };
    let public = [0.20, 0.12, 0.08, 0.05, 0.05][occupation];
    let nonprofit = [0.15, 0.07, 0.05, 0.01, 0.01][occupation];
    chance.of(&[1.0 - own - public - nonprofit, nonprofit, public, own, 0.002])
}

fn industry(class: usize, occupation: usize, person: &Person, chance: &mut Chance) -> usize {
    let mut weights = match occupation {
        0 => [0.01, 0.04, 0.10, 0.06, 0.03, 0.13, 0.19, 0.19, 0.16, 0.02, 0.03, 0.04],
        1 => [0.005, 0.005, 0.01, 0.03, 0.01, 0.01, 0.08, 0.07, 0.25, 0.36, 0.11, 0.06],
        2 => [0.005, 0.03, 0.06, 0.37, 0.05, 0.14, 0.09, 0.06, 0.10, 0.03, 0.03, 0.04],
        3 => [0.12, 0.50, 0.10, 0.06, 0.07, 0.03, 0.03, 0.02, 0.01, 0.01, 0.04, 0.01],
        _ => [0.02, 0.04, 0.42, 0.16, 0.22, 0.01, 0.04, 0.02, 0.02, 0.02, 0.02, 0.01],
    };
    if class == GOVERNMENT {
        for weight in &mut weights {
            *weight *= 0.08;
        }
        weights[7] += 0.5;
        weights[8] += 0.1;
        weights[11] += 0.4;
    }
    if person.female {
        weights[1] *= 0.3;
        weights[2] *= 0.6;
        weights[7] *= 1.6;
        weights[8] *= 2.2;
    }
    weights[9] *= chance.between(1.0, 2.4);
    weights[2] *= chance.between(1.0, 0.35);
    chance.of(&weights)
}

fn hours(
    person: &Person,
    occupation: Option<usize>,
    class: Option<usize>,
    chance: &mut Chance,
) -> f64 {
    let mut part_time = if person.female { 0.20 } else { 0.09 };
    if person.is_student() {
        part_time += 0.40;
    }
    if person.age >= 65.0 {
        part_time += 0.30;
    }
    if occupation == Some(1) {
        part_time += 0.12;
    }
    if chance.is(part_time) {
        return (24.0 + 7.0 * chance.normal()).round().clamp(1.0, 38.0);
    }
    if chance.is(if class == Some(SELF_EMPLOYED) { 0.3 } else { 0.6 }) {
        return 40.0;
    }
    let usual = if occupation == Some(0) { 46.0 } else { 43.0 };
    (usual + 7.0 * chance.normal()).round().clamp(35.0, 99.0)
}

fn transport(occupation: Option<usize>, chance: &mut Chance) -> usize {
    let at_home = match occupation {
        Some(0) => chance.between(0.22, 0.30),
        Some(2) => 0.14,
        _ => 0.03,
    };
    let there = [0.58, 0.14, 0.12, 0.06];
    let [alone, carpool, transit, foot] = chance.mix([0.83, 0.08, 0.05, 0.04], there);
    let away = 1.0 - at_home;
    chance.of(&[away * alone, away * carpool, away * transit, away * foot, at_home])
}

fn income(
    person: &Person,
    occupation: Option<usize>,
    class: Option<usize>,
    hours: Option<f64>,
    chance: &mut Chance,
) -> f64 {
    let education = person.education.unwrap_or(0) as f64;
    let wealth = chance.between(1.0, 1.45);
    let mut total = 0.0;
    if class == Some(SELF_EMPLOYED) && chance.is(0.012) {
        return -(8.0 + 1.2 * chance.normal()).exp();
    }
    if let Some(hours) = hours.filter(|_| class != Some(UNPAID)) {
        let seniority = 0.5 * logistic((person.age - 30.0) / 6.0);
        let trade = occupation.map_or(0.0, |o| [0.25, -0.25, -0.05, 0.10, 0.0][o]);
        let female = if person.female { -0.14 } else { 0.0 };
        let log = 9.35 + 0.13 * education + 1.15 * (hours / 40.0).ln() + seniority + trade + female;
        total += (log + 0.45 * chance.normal()).exp() * wealth;
    }
    if person.age >= 62.0 {
        total += (9.5 + 0.06 * education + 0.4 * chance.normal()).exp() * wealth;
    } else if total == 0.0 && chance.is(if person.is_disabled() { 0.75 } else { 0.3 }) {
        total += (8.6 + 0.8 * chance.normal()).exp();
    }
    if chance.is(0.03 + 0.03 * education) {
        total += (6.5 + 1.5 * chance.normal()).exp();
    }
    // People report dollars to about three digits.
    (total / 100.0).round() * 100.0
}
