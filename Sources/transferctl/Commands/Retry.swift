import ArgumentParser

/// `transferctl retry`.
struct Retry: ControlCommand {
    static let configuration = CommandConfiguration(
        abstract: "Returns failed or cancelled tasks to the queue."
    )
    static let verb = "retry"

    @OptionGroup var target: ControlTarget
}
