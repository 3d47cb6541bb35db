import Foundation
import Postgres
import TransferModel

/// Decisions as columns of a statement.
struct DecisionColumns {
    var ids: [UUID] = []
    var clients: [UUID] = []
    var launches: [Int32] = []
    var runs: [UUID] = []
    var occurrences: [Date] = []
    var nexts: [Date?] = []
    var nextDues: [Date?] = []
    var looks: [Date?] = []
    var reasons: [String?] = []

    /// The time after which a request is looked at again that waits for somebody's word, should
    /// that come just while the decision to wait is made.
    static let lookInterval: Duration = .seconds(60)

    init(_ decisions: [(request: DueRequest, decision: LaunchDecision)]) {
        for (request, decision) in decisions {
            ids.append(request.id.uuid)
            clients.append(request.clientID)
            launches.append(request.launches)
            runs.append(UUID.version7())
            occurrences.append(request.occurrenceAt)
            let jitter = (request.recurrence?.jitter ?? .zero) / .seconds(1)
            let delay = jitter > 0 ? Double.random(in: 0..<jitter) : 0
            switch decision {
            case .launch(let next), .skip(let next):
                nexts.append(next)
                nextDues.append(next.map { $0 + delay })
                looks.append(next.map { $0 + delay })
                reasons.append(nil)
            case .wait(let reason, let until):
                nexts.append(nil)
                nextDues.append(until)
                looks.append(until ?? request.facts.now + Self.lookInterval / .seconds(1))
                reasons.append(reason.rawValue)
            }
        }
    }

    var rows: Query {
        """
        SELECT id, client_id, launches, run_id, occurrence_at, next_at, next_due_at, look_at, reason
        FROM unnest(\(ids), \(clients), \(launches), \(runs), \(occurrences), \(nexts),
            \(nextDues), \(looks), \(reasons)) AS u (
            id, client_id, launches, run_id, occurrence_at, next_at, next_due_at, look_at, reason)
        """
    }
}
