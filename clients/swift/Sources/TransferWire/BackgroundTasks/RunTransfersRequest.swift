/// The body of `POST …/runs/{id}/transfers`.
public struct RunTransfersRequest: Codable, Sendable {
    /// The identifiers of the tasks that are linked to the run.
    public let taskIDs: [String]

    /// The most identifiers in a request.
    public static let tasksMax = 1000

    /// Creates a request.
    public init(taskIDs: [String]) { self.taskIDs = taskIDs }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        taskIDs = try container.decode([String].self, forKey: .taskIDs)
    }

    private enum CodingKeys: String, CodingKey {
        case taskIDs = "task_ids"
    }
}
