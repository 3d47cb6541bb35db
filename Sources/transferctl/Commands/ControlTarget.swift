import ArgumentParser

/// The tasks that a verb is for.
struct ControlTarget: ParsableArguments {
    @Argument(help: "The identifiers of tasks.")
    var tasks: [String] = []

    @Option(help: "All tasks of this session instead.")
    var session: String?

    @Option(help: "With --session, only tasks in this state; may be repeated.")
    var state: [String] = []

    mutating func validate() throws {
        try SessionName.validate(session)
        guard tasks.isEmpty != (session == nil) else {
            throw ValidationError("Name tasks, or a session with --session.")
        }
        guard state.isEmpty || session != nil else {
            throw ValidationError("--state goes with --session.")
        }
    }
}
