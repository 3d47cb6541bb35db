/// What an origin wants; few ends ask, so these are a table of their own.
struct QuestionColumns {
    let place: Int64
    let origin: String
    let credential: String?
}
