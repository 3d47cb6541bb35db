/// Where the bytes of a task lie, relative to the container directory of its tenant.
package enum ResultLocation {
    /// The container's folder that clients cannot name as a destination.
    package static let reservedFolder = ".transferd"
    /// The folder of results without a destination.
    package static let folder = "\(reservedFolder)/results"

    /// The final path of a task's result.
    package static func path(of task: TaskID, destination: Destination?) -> String {
        if let destination { return destination.path }
        // The last digits of the identifier are random: 256 folders of equal size, where one
        // would be measurably slower to create files in.
        let name = task.description
        return "\(folder)/\(name.suffix(2))/\(name)"
    }

    /// The path of the part file of one attempt, beside the final path so that a rename suffices.
    package static func partPath(of task: TaskID, destination: Destination?, fence: Fence) -> String
    {
        "\(path(of: task, destination: destination)).\(fence).part"
    }
}

extension ResultLocation {
    /// The folder of bodies that clients bring for their uploads.
    package static let bodyFolder = "\(reservedFolder)/bodies"

    /// The path of the body that a client brings for a task.
    package static func bodyPath(of task: TaskID) -> String {
        let name = task.description
        return "\(bodyFolder)/\(name.suffix(2))/\(name)"
    }
}
