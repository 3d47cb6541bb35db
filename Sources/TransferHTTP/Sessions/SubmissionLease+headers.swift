import Foundation
import HTTPTypes
import TransferModel
import TransferWire

extension SubmissionLease {
    /// Reads the lease that a submission names.
    ///
    /// - Returns: nil when it names none.
    /// - Throws: ``Problem`` when it names one in part, or one that is none.
    init?(_ headers: HTTPFields) throws(Problem) {
        guard let token = headers.value(of: .leaseToken) else {
            for name in [HTTPField.Name.leaseSeconds, .leaseOwner] where headers.contains(name) {
                throw QueryParameters.invalid(name.rawName, "Needs a Lease-Token.")
            }
            return nil
        }
        guard token.utf8.count == 36, let uuid = UUID(uuidString: token) else {
            throw QueryParameters.invalid("Lease-Token", "Must be a UUID.")
        }
        let owner = headers.value(of: .leaseOwner)
        if let owner, !(1...Reconnection.ownerBytesMax).contains(owner.utf8.count) {
            throw QueryParameters.invalid(
                "Lease-Owner",
                "Must have 1 to \(Reconnection.ownerBytesMax) bytes."
            )
        }
        let range = LeaseTime.secondsRange
        let seconds = headers.value(of: .leaseSeconds).map { Int64($0) } ?? LeaseTime.secondsDefault
        guard let seconds, range.contains(seconds) else {
            throw QueryParameters.invalid(
                "Lease-Seconds",
                "Must be from \(range.lowerBound) to \(range.upperBound)."
            )
        }
        self.init(token: LeaseToken(uuid), owner: owner, seconds: seconds)
    }
}
