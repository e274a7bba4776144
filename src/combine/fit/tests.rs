use crate::combine::Statistic;
use crate::combine::tests::{COUNTS, schema, table};

fn values(statistic: &Statistic) -> (Vec<f64>, Vec<f64>) {
    let (schema, table) = (schema(), table());
    let design = statistic.design(&schema, &table).unwrap();
    let values = design.values(&table).into_iter().map(Option::unwrap).collect();
    (values, design.sampling_variances(&table))
}

fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found}, expected {expected}");
}

#[test]
fn shares_and_means_are_those_of_the_records_that_count() {
    let schema = schema();
    let n = f64::from(COUNTS.iter().sum::<u32>());
    let (share, variance) = values(&Statistic::share("sex=m", &schema).unwrap());
    let men = f64::from(30 + 20 + 20 + 40 + 5 + 5 + 60 + 10);
    assert_close(share[0], men / n);
    assert_close(variance[0], share[0] * (1.0 - share[0]) / n);
    // 130 records with pay 5, 205 with 15, 50 without.
    let (mean, _) = values(&Statistic::mean("pay", &schema).unwrap());
    assert_close(mean[0], (5.0 * 130.0 + 15.0 * 205.0) / 335.0);
    let among = Statistic::mean("pay", &schema).unwrap().among("sex=f", &schema).unwrap();
    assert_close(values(&among).0[0], (5.0 * 75.0 + 15.0 * 85.0) / 160.0);
}

#[test]
fn a_difference_is_that_of_the_means_of_its_groups() {
    let schema = schema();
    let (found, variance) = values(&Statistic::difference("pay: sex=f vs sex=m", &schema).unwrap());
    let share = |high: f64, all: f64| {
        (5.0 + 10.0 * high / all, 100.0 * high / all * (1.0 - high / all) / all)
    };
    let (women, men) = (share(85.0, 160.0), share(120.0, 175.0));
    assert_close(found[0], women.0 - men.0);
    assert_close(variance[0], women.1 + men.1);
}

#[test]
fn a_logistic_coefficient_is_a_log_odds_ratio_with_its_variance() {
    let schema = schema();
    let statistic = Statistic::logistic("sex=m ~ age=4..5", &schema).unwrap();
    let (found, variance) = values(&statistic);
    // Women and men above 4, and below.
    let [a, b, c, d] = [80.0, 75.0, 115.0, 115.0_f64];
    assert_close(found[1], (b / a).ln() - (d / c).ln());
    assert_close(variance[1], 1.0 / a + 1.0 / b + 1.0 / c + 1.0 / d);
}

#[test]
fn a_category_is_a_term_of_each_value_but_the_most_frequent() {
    let (schema, table) = (schema(), table());
    let statistic = Statistic::linear("pay ~ age + sex", &schema).unwrap();
    let design = statistic.design(&schema, &table).unwrap();
    assert_eq!(design.names(), ["intercept", "age", "sex = m"]);
    let aliased = Statistic::linear("pay ~ sex=m + sex=f", &schema).unwrap();
    let found = aliased.design(&schema, &table).unwrap().values(&table);
    assert!(found[1].is_some() && found[2].is_none());
}
