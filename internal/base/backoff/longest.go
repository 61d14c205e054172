package backoff

import "time"

// Longest bounds every time that steps and tasks are given: pauses, delays, timeouts and
// deadlines. Messages call it 100 years.
const Longest = 100 * 365 * 24 * time.Hour
