//! A person's household, dwelling and insurance.

use super::people::{MARRIED, Person};
use super::work::Work;
use super::{Chance, logistic};

/// Household, dwelling and insurance. `None` for people in group quarters.
pub(super) struct Household {
    pub(super) kind: Option<usize>,
    /// From 1; 7 also stands for more.
    pub(super) persons: usize,
    pub(super) tenure: Option<usize>,
    pub(super) building: Option<usize>,
    pub(super) rooms: Option<f64>,
    pub(super) vehicles: Option<usize>,
    /// Percent of the poverty threshold, 501 for more.
    pub(super) poverty_ratio: Option<f64>,
    pub(super) private_insurance: bool,
    pub(super) public_insurance: bool,
}

/// Codes of `HHT`.
const COUPLE: usize = 0;
const ALONE: usize = 2;
/// Codes of `TEN`.
const MORTGAGE: usize = 0;
const RENTED: usize = 2;
/// Codes of `BLD`.
const DETACHED: usize = 1;

impl Household {
    pub(super) fn draw(person: &Person, work: &Work, chance: &mut Chance) -> Self {
        let group_quarters = match person.age {
            ..18.0 => 0.004,
            ..23.0 if person.is_student() => 0.22,
            ..85.0 => 0.012,
            _ => 0.12,
        };
        let own = work.income.unwrap_or(0.0);
        if chance.is(group_quarters) {
            let (private_insurance, public_insurance) = insurance(person, work, 150.0, chance);
            return Self {
                kind: None,
                persons: 1,
                tenure: None,
                building: None,
                rooms: None,
                vehicles: None,
                poverty_ratio: None,
                private_insurance,
                public_insurance,
            };
        }
        let kind = kind(person, chance);
        let persons = persons(person, kind, chance);
        // The others earn something too; partners in a couple are similar.
        let others = match kind {
            ALONE => 0.0,
            COUPLE if person.age < 20.0 => (11.3 + 0.7 * chance.normal()).exp(),
            COUPLE => (10.3 + 0.00001 * own.min(1e5) + 0.8 * chance.normal()).exp(),
            _ => (10.2 + 0.8 * chance.normal()).exp(),
        };
        let income = (own + others * chance.between(1.0, 1.25)).max(0.0);
        let threshold = 8_000.0 + 5_500.0 * persons as f64;
        let ratio = (100.0 * income / threshold).floor().min(501.0);
        let tenure = tenure(person.age, ratio, kind, chance);
        let building = building(tenure, ratio, chance);
        let base = if building == DETACHED { 6.6 } else { 4.2 };
        let size = base + 0.25 * persons as f64 + 0.003 * (ratio - 250.0);
        let rooms = (size + 1.4 * chance.normal()).round().clamp(1.0, 19.0);
        let (private_insurance, public_insurance) = insurance(person, work, ratio, chance);
        Self {
            kind: Some(kind),
            persons,
            tenure: Some(tenure),
            building: Some(building),
            rooms: Some(rooms),
            vehicles: Some(vehicles(persons, ratio, building, chance)),
            poverty_ratio: Some(ratio),
            private_insurance,
            public_insurance,
        }
    }
}

fn kind(person: &Person, chance: &mut Chance) -> usize {
    if person.marital == MARRIED {
        return if chance.is(0.96) { COUPLE } else { 1 };
    }
    match person.age {
        ..18.0 => chance.of(&[0.66, 0.34]),
        ..25.0 => chance.of(&[0.40, 0.25, 0.10, 0.25]),
        ..65.0 => chance.of(&[0.08, 0.35, 0.35, 0.22]),
        _ => chance.of(&[0.03, 0.25, 0.65, 0.07]),
    }
}

fn persons(person: &Person, kind: usize, chance: &mut Chance) -> usize {
    if kind == ALONE {
        return 1;
    }
    let child_years = person.age < 18.0 || (30.0..50.0).contains(&person.age);
    let weights = match (kind, child_years) {
        (COUPLE, true) if person.age < 18.0 => [0.0, 0.22, 0.38, 0.22, 0.11, 0.07],
        (COUPLE, true) => [0.22, 0.22, 0.32, 0.15, 0.06, 0.03],
        (COUPLE, false) => [0.56, 0.22, 0.12, 0.06, 0.02, 0.02],
        (1, true) => [0.24, 0.32, 0.23, 0.11, 0.06, 0.04],
        _ => [0.55, 0.25, 0.12, 0.05, 0.02, 0.01],
    };
    2 + chance.of(&weights)
}

fn tenure(age: f64, ratio: f64, kind: usize, chance: &mut Chance) -> usize {
    let couple = if kind == COUPLE { 0.7 } else { -0.3 };
    let settled = (if age < 18.0 { 38.0 } else { age } - 38.0) / 18.0;
    let owns = logistic(settled + couple + 0.005 * (ratio - 240.0) - chance.between(-0.3, 0.9));
    if chance.is(owns) {
        let paid = logistic((age - 64.0) / 7.0);
        return if chance.is(paid) { 1 } else { MORTGAGE };
    }
    if chance.is(0.04) { 3 } else { RENTED }
}

fn building(tenure: usize, ratio: f64, chance: &mut Chance) -> usize {
    let mobile = if ratio < 200.0 { 0.08 } else { 0.02 };
    let weights = if tenure < RENTED {
        let there = [0.005, 0.62, 0.12, 0.03, 0.07, 0.155];
        chance.mix([mobile, 0.76, 0.17, 0.02, 0.01, 0.01], there)
    } else {
        let there = [0.005, 0.27, 0.08, 0.12, 0.20, 0.325];
        chance.mix([mobile, 0.29, 0.19, 0.20, 0.17, 0.13], there)
    };
    chance.of(&weights)
}

fn vehicles(persons: usize, ratio: f64, building: usize, chance: &mut Chance) -> usize {
    let adults = (persons as f64).min(3.0).sqrt();
    let means = 0.6 + 0.0022 * ratio.min(450.0);
    let room = [0.95, 1.25, 0.95, 0.8, 0.75, 0.55][building];
    let usual = adults * means * room;
    let mut weights = [0.0; 5];
    for (count, weight) in weights.iter_mut().enumerate() {
        *weight = (-(count as f64 - usual).powi(2) / 1.3).exp();
    }
    chance.of(&weights)
}

/// Private and public insurance.
fn insurance(person: &Person, work: &Work, ratio: f64, chance: &mut Chance) -> (bool, bool) {
    let full_time = work.hours.is_some_and(|hours| hours >= 35.0);
    let mut ease = 0.008 * (ratio - 200.0);
    ease += if full_time { 1.2 } else { 0.0 };
    ease -= if work.works() || person.age < 18.0 { 0.0 } else { 0.3 };
    ease -= if person.foreign { 0.6 } else { 0.0 };
    let private = chance.is(logistic(ease));
    let public = if person.age >= 65.0 {
        0.96
    } else {
        let young = if person.age < 19.0 { 1.0 } else { 0.0 };
        let disabled = if person.is_disabled() { 1.3 } else { 0.0 };
        let covered = if private { 2.8 } else { 0.0 };
        logistic(0.6 - 0.008 * (ratio - 130.0) + young + disabled - covered)
    };
    (private, chance.is(public))
}
