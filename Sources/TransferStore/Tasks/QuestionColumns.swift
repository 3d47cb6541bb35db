/// The question of a task whose origin wants a credential; few ended attempts have one, so its
/// columns form a table of their own.
struct QuestionColumns {
    let place: Int64
    let origin: String
    let credential: String?
}
