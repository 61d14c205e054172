import { useEffect, useState } from "react";

const pause = 500;

/** useReady is false for a moment: a second tap at one place must not press what appeared there. */
export function useReady(): boolean {
  const [ready, setReady] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setReady(true), pause);
    return () => clearTimeout(timer);
  }, []);
  return ready;
}
