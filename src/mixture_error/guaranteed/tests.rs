use super::*;
use crate::data::{Dataset, Projectable};
use crate::domain::Domain;
use crate::mixture_error::MixtureError;
use crate::mixture_error::parts;
use crate::mixture_error::problem::Problem;
use crate::mixture_error::support::Support;
use crate::query::Workload;

#[test]
fn a_smoothed_game_is_near_the_value_and_both_methods_agree_on_it() {
    let domain = Domain::new([("a", 2), ("b", 3), ("c", 4)]).unwrap();
    let table = |n: u32, shift: u32| {
        let rows: Vec<[u32; 3]> =
            (0..n).map(|i| [i * i % 2, (i + shift) * i % 3, i * i * i % 7 % 4]).collect();
        Dataset::from_rows(domain.clone(), &rows).unwrap()
    };
    let (real, public) = (table(97, 1), table(9, 0));
    let workload = Workload::all_k_way(&domain, 2).unwrap();
    let support = Support::new(&public, &workload).unwrap();
    let answers = support.answers(|cliques| Ok(real.project_many(cliques)?)).unwrap();
    let mut problem = Problem::new(&support, &answers, 97.0, false);
    for (floor, smoothing) in [(0.0, 0.01), (0.0, 0.001), (0.4, 0.01)] {
        problem.floor = floor;
        let mut plain = problem.bracket().unwrap();
        MixtureError::default().search(&problem, &mut plain).unwrap();
        assert!(plain.gap() <= 1e-6, "{}", plain.gap());
        let incidence = support.whole_incidence().unwrap();
        let targets = problem.targets.clone();
        let game = Game::new(&incidence, targets, floor).smoothed(smoothing);
        let [low, high] = close(&game, 1e-7, NORM).bracket;
        assert!(high - low <= 1e-7, "[{low}, {high}]");
        assert!(high >= plain.lower - smoothing && low <= plain.upper + smoothing);
        for fast in [parts::close(&game, 1e-7), parts::close_after(&game, 1e-7, 10)] {
            assert!(fast[1] - fast[0] <= 1e-7, "{fast:?}");
            assert!(fast[0] <= high + 1e-12 && low <= fast[1] + 1e-12);
        }
    }
}
