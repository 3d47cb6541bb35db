import ArgumentParser

/// `transferctl retry`.
struct Retry: ControlCommand {
    static let configuration = CommandConfiguration(
        abstract: "Returns failed or cancelled tasks to the queue."
    )
    static let verb = "retry"

    @OptionGroup var options: ServiceOptions
    @OptionGroup var target: ControlTarget

    @Flag(help: "Print each task, or the operation, as JSON on a line.")
    var json = false
}
