/// The word for an attempt's outcome in the statements that store it.
///
/// A move to another mirror that has to wait first is a retry, or a wait for connectivity.
enum StoredOutcome: String {
    case completed, fetched, answered, failed, retry
    case waitForConnectivity = "wait_for_connectivity"
    case waitOut = "wait_out"
    case askForCredential = "ask_for_credential"
    case moved, released, requeued
}
