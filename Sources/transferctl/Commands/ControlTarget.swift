import ArgumentParser

/// The tasks that a verb is for, and how they are reached and printed.
struct ControlTarget: ParsableArguments {
    @OptionGroup var options: ServiceOptions

    @Argument(help: "The identifiers of tasks.")
    var tasks: [String] = []

    @Option(help: "All tasks of this session instead.")
    var session: String?

    @Option(help: "With --session, only tasks in this state; may be repeated.")
    var state: [String] = []

    @Flag(help: "Print each task, or the operation, as JSON on a line.")
    var json = false

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
