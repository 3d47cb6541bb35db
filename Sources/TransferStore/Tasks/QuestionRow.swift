/// The question of a task whose origin wants a credential, as a row for `unnest`: a table of its
/// own, because few ends have one.
struct QuestionRow {
    let place: Int64
    let origin: String
    let credential: String?
}
