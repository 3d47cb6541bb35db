import ArgumentParser

/// `transferctl suspend`.
struct Suspend: ControlCommand {
    static let configuration = CommandConfiguration(
        abstract: "Suspends tasks; the bytes they have are kept."
    )
    static let verb = "suspend"

    @OptionGroup var options: ServiceOptions
    @OptionGroup var target: ControlTarget

    @Flag(help: "Print each task, or the operation, as JSON on a line.")
    var json = false
}
