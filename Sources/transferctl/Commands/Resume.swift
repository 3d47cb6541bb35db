import ArgumentParser

/// `transferctl resume`.
struct Resume: ControlCommand {
    static let configuration = CommandConfiguration(abstract: "Starts tasks that are suspended.")
    static let verb = "resume"

    @OptionGroup var target: ControlTarget
}
