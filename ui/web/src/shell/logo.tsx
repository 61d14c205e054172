/** Logo is a house by the road: a hexagon with an arrow that goes on. */
export const Logo = () => (
  <svg
    width="16"
    height="16"
    viewBox="0 0 16 16"
    fill="none"
    stroke="currentColor"
    strokeWidth="1.75"
    strokeLinejoin="round"
    strokeLinecap="round"
    aria-hidden
  >
    <path d="M8 1.2 14 4.6v6.8L8 14.8 2 11.4V4.6z" />
    <path d="M5 8h5.5M8.5 6l2 2-2 2" />
  </svg>
);
