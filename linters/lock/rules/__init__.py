"""What changed since the lock was written; evidence: LockEvidence."""
