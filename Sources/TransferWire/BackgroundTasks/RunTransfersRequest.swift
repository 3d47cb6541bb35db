/// The body of `POST …/runs/{id}/transfers`.
package struct RunTransfersRequest: Decodable, Sendable {
    /// The identifiers of the tasks that are linked to the run.
    package let taskIDs: [String]

    /// The most identifiers in a request.
    package static let tasksMax = 1000

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        taskIDs = try container.decode([String].self, forKey: .taskIDs)
    }

    private enum CodingKeys: String, CodingKey {
        case taskIDs = "task_ids"
    }
}
