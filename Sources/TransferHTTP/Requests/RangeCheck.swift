import TransferModel
import TransferWire

/// A check of numbers against ranges, which collects what is wrong.
struct RangeCheck {
    let pointer: String
    var errors: [FieldError] = []

    init(pointer: String) { self.pointer = pointer }

    mutating func refuse(_ name: String, _ detail: String) {
        errors.append(FieldError(pointer: "\(pointer)/\(name)", .invalidValue, detail))
    }

    mutating func number<Number: BinaryInteger>(
        _ number: Number?,
        _ range: ClosedRange<Number>,
        _ name: String
    ) -> Number? {
        guard let number, !range.contains(number) else { return number }
        refuse(name, "Must be from \(range.lowerBound) to \(range.upperBound).")
        return nil
    }

    /// Returns a limit in bytes per second, checked on its own.
    static func bytesPerSecond(
        _ number: Int64?,
        _ name: String,
        at pointer: String,
        into errors: inout [FieldError]
    ) -> Int64? {
        var check = RangeCheck(pointer: pointer)
        let number = check.number(number, TransferOptions.bytesPerSecondRange, name)
        errors += check.errors
        return number
    }

    mutating func seconds(
        _ seconds: Double?,
        _ range: ClosedRange<Double>,
        _ name: String
    ) -> Duration? {
        guard let seconds else { return nil }
        guard range.contains(seconds) else {
            refuse(name, "Must be from \(range.lowerBound) to \(Int(range.upperBound)) seconds.")
            return nil
        }
        return .milliseconds(Int64((seconds * 1000).rounded()))
    }
}
