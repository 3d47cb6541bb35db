import ArgumentParser

/// `transferctl cancel`.
struct Cancel: ControlCommand {
    static let configuration = CommandConfiguration(abstract: "Cancels tasks.")
    static let verb = "cancel"

    @OptionGroup var options: ServiceOptions
    @OptionGroup var target: ControlTarget

    @Flag(help: "Print each task, or the operation, as JSON on a line.")
    var json = false
}
