import unittest

from greeting import greet


class Greeting(unittest.TestCase):
    def test_somebody_is_greeted_by_name(self):
        self.assertEqual(greet("Hello", "Ada"), "Hello, Ada!")


if __name__ == "__main__":
    unittest.main()
