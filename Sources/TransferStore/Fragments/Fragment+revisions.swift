import Postgres
import TransferModel

extension Fragment {
    /// Whether a change may be made to a row with that `revision`.
    static func hasRevision(_ revision: Query, _ condition: RevisionCondition) -> Query {
        """
        (\(condition.revisions)::int[] IS NULL OR \(revision) = ANY (\(condition.revisions)))
        """
    }
}
