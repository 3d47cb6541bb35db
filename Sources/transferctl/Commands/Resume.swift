import ArgumentParser

/// `transferctl resume`.
struct Resume: ControlCommand {
    static let configuration = CommandConfiguration(abstract: "Starts tasks that are suspended.")
    static let verb = "resume"

    @OptionGroup var options: ServiceOptions
    @OptionGroup var target: ControlTarget

    @Flag(help: "Print each task, or the operation, as JSON on a line.")
    var json = false
}
