use super::*;

#[test]
fn an_axis_has_its_ends_at_its_coordinates_and_round_ticks_between() {
    let axis = Axis::new([0.1, 10.0].into_iter(), 1.0, [0.0, 100.0]);
    for (value, at) in [(0.1, 0.0), (1.0, 50.0), (10.0, 100.0), (0.0, 0.0)] {
        assert!((axis.place(value) - at).abs() < 1e-9);
    }
    let labels: Vec<String> = axis.ticks().into_iter().map(|tick| tick.label).collect();
    assert_eq!(labels, ["0.1", "0.2", "0.5", "1", "2", "5", "10"]);
    let narrow = Axis::new([0.11, 0.19].into_iter(), 1.06, [0.0, 100.0]);
    assert!(narrow.ticks().len() >= 4);
    assert!(Axis::new(std::iter::empty(), 1.1, [0.0, 1.0]).place(1.0).is_finite());
}
